const fs = require('node:fs');
const path = require('node:path');
const models = require('../models');
const config = require('../../config');

const root = process.env.LAMBDA_TASK_ROOT || process.cwd();
const receipt = fs.readFileSync(path.join(root, 'templates', 'receipt.txt'), 'utf8').trim();

exports.handler = async (event, context) => {
  context.callbackWaitsForEmptyEventLoop = false;
  const Order = models('order');
  const order = new Order(JSON.parse(event.body));
  const problems = order.validateSync();
  const errors = Object.entries(problems?.errors ?? {}).map(([at, { kind }]) => `${at}: ${kind}`);
  const text = receipt.replace('{pieces}', order.pieces);
  return {
    statusCode: problems ? 422 : 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ errors, text, currency: order.currency, stage: config.name }),
  };
};
