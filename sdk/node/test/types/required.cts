import sdk = require("fabric-handler");

const answered: (event: any, context?: any) => Promise<sdk.Answer> = sdk.handler((_req, res) => res.end());
export = answered;
