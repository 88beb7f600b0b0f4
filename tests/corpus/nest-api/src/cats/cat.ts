export interface Cat {
  id: number;
  name: string;
}

export class NewCat {
  name!: string;
}
