exports.notFound = (req, res) => res.status(404).json({ error: `nothing at ${req.originalUrl}` });
// Express knows it for an error handler by its four parameters.
exports.onError = (error, _req, res, _next) => {
  res.status(error.status || 500).json({ error: error.message });
};
