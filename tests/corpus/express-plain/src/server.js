const fs = require('node:fs');
const path = require('node:path');
const express = require('express');
const cookieParser = require('cookie-parser');

const app = express();
const page = fs.readFileSync(path.join(__dirname, '..', 'views', 'page.html'), 'utf8');
app.use(cookieParser());
app.use(express.urlencoded({ extended: false }));
app.get('/', (req, res) => {
  const times = Number(req.cookies.times ?? 0) + 1;
  res.cookie('times', times, { httpOnly: true }).type('html').send(page.replace('{{times}}', times));
});
app.post('/sign', async (req, res) => {
  await new Promise((done) => setTimeout(done, 2));
  res.redirect(303, `/?name=${encodeURIComponent(req.body.name)}`);
});
app.get('/download', (_req, res) => {
  res.attachment('dots.bin').send(Buffer.from([0, 255, 128]));
});

if (require.main === module && process.env.PORT) app.listen(process.env.PORT);
module.exports = app;
