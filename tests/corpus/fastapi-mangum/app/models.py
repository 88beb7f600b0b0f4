from pydantic import BaseModel, Field


class Item(BaseModel):
    name: str = Field(min_length=1)
    net: float = Field(gt=0)


class Priced(Item):
    gross: float
