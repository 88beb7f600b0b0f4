const books = new Map([['1', { id: '1', title: 'Middlemarch' }]]);

exports.find = (id) => books.get(id);
exports.add = ({ title }) => {
  if (!title) throw Object.assign(new Error('a book has a title'), { status: 422 });
  const book = { id: String(books.size + 1), title };
  books.set(book.id, book);
  return book;
};
