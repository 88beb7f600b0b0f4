export const handler = async (event) => { console.log("at " + event["detail-type"] + " " + event.time); if (process.env.FAILS) throw new Error("no"); };
