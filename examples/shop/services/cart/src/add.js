import { bodyOf, json } from "../../../libs/shared/http";
import { addLine, linesOf } from "./carts";

export async function handler(request) {
  const { user } = request.pathParameters ?? {};
  const line = bodyOf(request);
  if (!user || !line?.product || !(line.quantity > 0)) {
    return json(400, { error: "name a product and a quantity" });
  }
  addLine(user, line);
  return json(201, { lines: linesOf(user), catalog: process.env.CATALOG_URL });
}
