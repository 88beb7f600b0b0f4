exports.modelName = 'Customer';
exports.schema = ({ Schema }) => new Schema({ name: String });
