import { GraphQLError } from 'graphql';

interface Row {
  title: string;
  by: string;
}

const rows: Row[] = [
  { title: 'Emma', by: 'Austen' },
  { title: 'Silas Marner', by: 'Eliot' },
];

export const resolvers = {
  Query: {
    books: (_: unknown, { by }: { by?: string }) => rows.filter((row) => !by || row.by === by),
    me: (_: unknown, __: unknown, { who }: { who: string }) => who,
  },
  Mutation: {
    add: (_: unknown, row: Row) => {
      if (row.title === '') throw new GraphQLError('no title', { extensions: { code: 'BAD_TITLE' } });
      rows.push(row);
      return row;
    },
  },
  Book: { author: (row: Row) => ({ name: row.by }) },
  Author: { books: ({ name }: { name: string }) => rows.filter((row) => row.by === name) },
};
