const mongoose = require('mongoose');

// One file for each model, found by its name.
module.exports = (name) => {
  const model = require(`./${name}.js`);
  return mongoose.models[model.modelName] || mongoose.model(model.modelName, model.schema(mongoose));
};
