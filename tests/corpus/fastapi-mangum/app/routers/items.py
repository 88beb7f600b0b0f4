from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request

from app.models import Item, Priced

router = APIRouter()


async def rate(request: Request) -> float:
    return request.app.state.rate


@router.post("", response_model=Priced, status_code=201)
async def add(item: Item, factor: Annotated[float, Depends(rate)]) -> dict[str, object]:
    return {**item.model_dump(), "gross": round(item.net * factor, 2), "secret": "never shown"}


@router.get("/{number}")
def show(number: int, verbose: bool = False):
    if number > 1:
        raise HTTPException(404, f"no item {number}")
    return {"number": number, "verbose": verbose}
