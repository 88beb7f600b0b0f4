from contextlib import asynccontextmanager

from fastapi import FastAPI
from mangum import Mangum

from app.routers import items


@asynccontextmanager
async def lifespan(app: FastAPI):
    app.state.rate = 1.19
    yield


app = FastAPI(title="Shop", lifespan=lifespan)
app.include_router(items.router, prefix="/items", tags=["items"])
handler = Mangum(app)
