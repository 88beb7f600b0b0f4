import { Injectable, NotFoundException } from '@nestjs/common';
import type { Cat } from './cat';

@Injectable()
export class CatsService {
  private readonly cats: Cat[] = [{ id: 1, name: 'Tom' }];

  find(id: number): Cat {
    const cat = this.cats.find((one) => one.id === id);
    if (!cat) throw new NotFoundException(`no cat ${id}`);
    return cat;
  }

  add(name: string): Cat {
    const cat = { id: this.cats.length + 1, name };
    this.cats.push(cat);
    return cat;
  }
}
