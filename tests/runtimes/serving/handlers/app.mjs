export default (req, res) => res.status(201).json({ path: req.path, id: req.query.id });
