# fabricd, with all that it needs to build functions. It listens on 8766; the project is mounted on
# /workspace. Nothing but /tmp and the project's .fabric needs to be writable.
FROM python:3.12-slim AS made
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY fabric fabric
COPY schemas schemas
COPY scripts/fetch_bundler.py scripts/fetch_bundler.py
RUN python -m venv /opt/fabric && /opt/fabric/bin/pip install --no-cache-dir ".[all]"
# Compilers of functions are fetched now, not by the first request.
RUN FABRIC_TOOLCHAIN_DIR=/opt/fabric/toolchain /opt/fabric/bin/python scripts/fetch_bundler.py

FROM python:3.12-slim
COPY --from=made /opt/fabric /opt/fabric
ENV PATH=/opt/fabric/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/tmp \
    FABRIC_TOOLCHAIN_DIR=/opt/fabric/toolchain \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
RUN useradd --uid 10001 --no-create-home --home-dir /tmp fabric && mkdir /workspace && chown fabric /workspace
USER 10001
WORKDIR /workspace
EXPOSE 8766
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8766/healthz', timeout=4)"]
ENTRYPOINT ["fabricd"]
CMD ["--port", "8766"]
