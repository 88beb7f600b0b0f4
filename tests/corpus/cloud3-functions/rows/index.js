const { format } = require('../shared/format');

module.exports = async function (context, req) {
  context.log('asked for', context.bindingData.id);
  if (req.query.fail) throw new RangeError('no such table');
  context.res = { status: 200, headers: { 'x-table': 'a' }, body: format(context.bindingData.id, req.query.lang) };
};
