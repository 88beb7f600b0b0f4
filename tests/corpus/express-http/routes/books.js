const { Router } = require('express');
const store = require('../lib/store');

const router = Router();
router.get('/:id', (req, res, next) => {
  const book = store.find(req.params.id);
  return book ? res.json({ ...book, base: req.baseUrl, path: req.path }) : next();
});
router.post('/', (req, res) => {
  const book = store.add(req.body);
  res.status(201).location(`/books/${book.id}`).json(book);
});
router.get('/:id/broken', () => {
  throw new Error('torn');
});

module.exports = router;
