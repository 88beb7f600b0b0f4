const { VERSION } = require('@acme/shared');

exports.handler = async () => ({ version: VERSION, api: process.env.SERVICE_API_URL });
