"""Functions of images that a Dockerfile of the project describes."""

import pytest

from fabric.importing.source import Fate
from tests.support.imports import Conversion, from_serverless, service

_NODE = "FROM public.ecr.aws/lambda/nodejs:12\n"


def convert(
    dockerfile: str, function: str = "", image: str = "path: ./", files: tuple[str, ...] = ()
) -> Conversion:
    text = service(
        f"api: {{image: {{name: own{function}}}}}", f"ecr: {{images: {{own: {{{image}}}}}}}"
    )
    found = {"Dockerfile": dockerfile, "app.js": "", "src/app.js": "", "run.py": ""}
    return from_serverless(text, found | dict.fromkeys(files, ""))


def test_a_dockerfile_that_copies_code_becomes_an_entry() -> None:
    done = convert(
        f"# comment\n{_NODE}COPY package.json app.js ./\nRUN npm ci --omit=dev\n"
        'CMD ["app.handler"]\n'
    )
    assert done.function == {
        "name": "api",
        "runtime": "nodejs22.x",
        "entry": "app.handler",
        "package": {"type": "image"},
    }
    assert done.reasons() == []


def test_the_command_of_the_function_is_its_entry() -> None:
    done = convert(f"{_NODE}COPY . ${{LAMBDA_TASK_ROOT}}\n", ", command: [src/app.handler]")
    assert done.function["entry"] == "src/app.handler"


def test_a_python_image_has_its_runtime_and_data() -> None:
    lines = (
        "FROM public.ecr.aws/lambda/python:3.13-arm64\nCOPY run.py data.bin /var/task/\n"
        'COPY views views/\nRUN pip install -r requirements.txt -t "${LAMBDA_TASK_ROOT}" \\\n'
        ' --no-cache-dir\nCMD ["run.handler"]\n'
    )
    found = convert(lines, files=("data.bin", "views/a.html")).function
    assert (found["runtime"], found["include"]) == ("python3.13", ["data.bin", "views/**"])


def test_an_image_of_a_directory_has_its_paths() -> None:
    text = service("api: {image: own}", "ecr: {images: {own: ./box}}")
    files = {"box/Dockerfile": f"{_NODE}COPY a.js .\nCMD a.handler\n", "box/a.js": ""}
    assert from_serverless(text, files).function["entry"] == "box/a.handler"


@pytest.mark.parametrize(
    ("dockerfile", "reason"),
    [
        ("FROM node:20\n", "the base `node:20` of the image is not one of AWS Lambda"),
        (f"{_NODE}RUN yum install -y git\n", "`RUN yum install -y git`"),
        (f"{_NODE}RUN npm install --omit=dev express\n", "`RUN npm install"),
        (f"{_NODE}ENV A=b\n", "`ENV A=b`"),
        (f"{_NODE}FROM x\n", "`FROM x`"),
        (f"{_NODE}COPY src/app.js ./\n", "which moves files"),
        (f"{_NODE}COPY src ./\n", "which moves files"),
        (f"{_NODE}COPY --from=x app.js ./\n", "which moves files"),
        (f"{_NODE}CMD [app\n", "cannot be read"),
        (f'{_NODE}CMD ["gone.handler"]\n', "no file found for the command `gone.handler`"),
        (f'{_NODE}CMD ["node", "app.js"]\n', "no file found for the command `node app.js`"),
    ],
)
def test_what_fabric_does_not_run_is_reported(dockerfile: str, reason: str) -> None:
    done = convert(dockerfile)
    assert any(reason in one for one in done.reasons())
    assert not done.config.get("functions")


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        ("path: ./, file: Other", "no file `Other`"),
        ("path: ./, buildArgs: {A: b}", "settings of images are not supported"),
    ],
)
def test_images_of_other_places_and_settings_are_reported(image: str, reason: str) -> None:
    done = convert(f'{_NODE}COPY app.js .\nCMD ["app.handler"]\n', image=image)
    assert any(reason in one for one in done.reasons())


_ACCOUNT = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/shop"


@pytest.mark.parametrize(
    ("function", "images"),
    [
        (f"{_ACCOUNT}:1", "{}"),
        (f"{{uri: '{_ACCOUNT}:1'}}", "{}"),
        ("own", f"{{own: '{_ACCOUNT}:1'}}"),
        ("{name: own}", f"{{own: {{uri: '{_ACCOUNT}:1'}}}}"),
    ],
)
def test_an_existing_image_is_carried(function: str, images: str) -> None:
    done = from_serverless(service(f"api: {{image: {function}}}", f"ecr: {{images: {images}}}"))
    assert done.function == {"name": "api", "image": f"{_ACCOUNT}:1"}
    assert done.reasons() == []


def test_the_report_names_the_new_runtime() -> None:
    done = convert(f'{_NODE}COPY app.js .\nCMD ["app.handler"]\n')
    notes = [one for one in done.settled.select(Fate.CHANGED) if "without Docker" in one.reason]
    assert [one.advice for one in notes] == ["runtime: nodejs22.x"]
