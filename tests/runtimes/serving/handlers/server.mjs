const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const own = () => Object.keys(process.env).filter((name) => name.startsWith("FABRIC_"));
const answers = {
  "/slow": () => wait(300).then(() => ({ statusCode: 200, body: "slow" })),
  "/env": () => ({ statusCode: 200, body: JSON.stringify([process.env.MODE, own()]) }),
};
export const handler = (event) => answers[event.rawPath]();
