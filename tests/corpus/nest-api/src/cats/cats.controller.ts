import { Body, Controller, Get, Param, ParseIntPipe, Post } from '@nestjs/common';
import { CatsService } from './cats.service';
import { NewCat } from './cat';
import type { Cat } from './cat';

@Controller('cats')
export class CatsController {
  // What is injected is known from the types that the compiler wrote down.
  constructor(private readonly cats: CatsService) {}

  @Get(':id')
  find(@Param('id', ParseIntPipe) id: number): Cat {
    return this.cats.find(id);
  }

  @Post()
  add(@Body() cat: NewCat): Cat {
    return this.cats.add(cat.name);
  }
}
