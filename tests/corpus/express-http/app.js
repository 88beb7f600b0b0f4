'use strict';
const express = require('express');
const books = require('./routes/books');
const { notFound, onError } = require('./middleware/errors');

const app = express();
app.use(express.json({ limit: '1mb' }));
app.use(express.urlencoded({ extended: true }));
app.get('/health', (_req, res) => res.json({ ok: true, shelf: process.env.SHELF }));
app.use('/books', books);
app.use(notFound);
app.use(onError);

module.exports = app;
