exports.handler = async (event, context) => ({
  statusCode: 200,
  body: `${event.httpMethod ?? event.requestContext.http.method} ${event.rawPath} ${context.functionName}`,
});
