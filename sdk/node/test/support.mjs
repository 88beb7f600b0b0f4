// Events of both versions, and which Node this is.

export function versionTwo({ method = "GET", path = "/", query = "", address = "192.0.2.7", ...more } = {}) {
  const http = { method, path, protocol: "HTTP/1.1", sourceIp: address, userAgent: "test" };
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: query,
    headers: { host: "shop.test", "x-forwarded-proto": "https" },
    requestContext: { http, stage: "$default", domainName: "shop.test" },
    isBase64Encoded: false,
    ...more,
  };
}

export function versionOne({ method = "GET", path = "/", address = "192.0.2.7", ...more } = {}) {
  return {
    httpMethod: method,
    path,
    headers: { Host: "shop.test", "X-Forwarded-Proto": "https" },
    multiValueHeaders: { Host: ["shop.test"], "X-Forwarded-Proto": ["https"] },
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    requestContext: { identity: { sourceIp: address }, stage: "prod" },
    body: null,
    isBase64Encoded: false,
    ...more,
  };
}

export const BOTH = { "version 2.0": versionTwo, "the older version": versionOne };

// For calls that are not to be answered in time; those without it have all the time there is.
export const LITTLE_TIME = { getRemainingTimeInMillis: () => 50 };

const major = Number(process.versions.node.split(".")[0]);

export function needsNode(least) {
  return major < least ? `needs Node ${least}` : false;
}

export function bytesOf(answer) {
  return Buffer.from(answer.body, answer.isBase64Encoded ? "base64" : "utf8");
}

// A listener that answers with what it was asked.
export function echo(req, res) {
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => {
    const { method, url, headers, rawHeaders, socket } = req;
    const body = Buffer.concat(chunks).toString("latin1");
    const seen = { method, url, headers, rawHeaders, body, ip: socket.remoteAddress, secure: socket.encrypted };
    res.setHeader("content-type", "application/json");
    res.end(JSON.stringify(seen));
  });
}
