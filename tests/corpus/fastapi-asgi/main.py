from collections.abc import AsyncIterator

from fastapi import BackgroundTasks, FastAPI, Response
from fastapi.responses import StreamingResponse

app = FastAPI()
seen: list[str] = []


@app.middleware("http")
async def mark(request, call_next):
    response: Response = await call_next(request)
    response.headers["X-Path"] = request.url.path
    return response


@app.get("/count/{last}")
async def count(last: int) -> StreamingResponse:
    async def lines() -> AsyncIterator[str]:
        for number in range(last):
            yield f"{number}\n"

    return StreamingResponse(lines(), media_type="text/plain")


@app.post("/see/{word}", status_code=202)
async def see(word: str, tasks: BackgroundTasks) -> dict[str, int]:
    tasks.add_task(seen.append, word)
    return {"before": len(seen)}
