const config = require('../../config');

exports.modelName = 'Order';
exports.schema = ({ Schema }) => {
  const line = new Schema({ article: { type: String, required: true }, pieces: { type: Number, min: 1, max: config.limit } }, { _id: false });
  const schema = new Schema({ customer: { type: Schema.Types.ObjectId, ref: 'Customer' }, lines: [line], currency: { type: String, default: config.currency } });
  schema.virtual('pieces').get(function () {
    return this.lines.reduce((sum, { pieces }) => sum + pieces, 0);
  });
  return schema;
};
