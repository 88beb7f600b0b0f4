const sharp = require('sharp');

exports.handler = async (event) => {
  const width = Number(event.queryStringParameters?.w ?? 4);
  const picture = sharp({ create: { width: 40, height: 20, channels: 3, background: '#cc3300' } });
  const made = await picture.resize({ width }).png().toBuffer({ resolveWithObject: true });
  return {
    statusCode: 200,
    headers: { 'content-type': 'image/png', 'x-size': `${made.info.width}x${made.info.height}` },
    isBase64Encoded: true,
    body: made.data.toString('base64'),
  };
};
