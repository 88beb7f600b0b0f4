const LETTERS = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

exports.escape = (text) => text.replace(/[&<>]/g, (one) => LETTERS[one]);
exports.known = (text) => text.trim().length > 0;
