const { escape, known } = require('./lib/names');

exports.greet = async (req, res) => {
  res.set('Access-Control-Allow-Origin', '*');
  if (req.method === 'OPTIONS') {
    res.set('Access-Control-Allow-Methods', 'GET, POST');
    return res.status(204).send('');
  }
  const name = req.query.name || (req.body && req.body.name) || 'World';
  if (!known(name)) return res.status(400).json({ error: 'no name' });
  res.type('text').send(`Hello ${escape(name)}, ${req.rawBody ? req.rawBody.length : 0}!`);
};

exports.keep = (cloudEvent) => {
  const text = Buffer.from(cloudEvent.data.message.data, 'base64').toString();
  console.log(`kept ${text} of ${cloudEvent.id}`);
  return { kept: text, type: cloudEvent.type };
};
