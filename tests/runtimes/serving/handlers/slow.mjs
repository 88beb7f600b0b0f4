export const handler = async (event) => { console.log("begun"); await new Promise((d) => setTimeout(d, 600)); return { statusCode: 200, body: "done" }; };
