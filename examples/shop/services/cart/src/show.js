import { json } from "../../../libs/shared/http";
import { format, total } from "../../../libs/shared/money";
import { linesOf } from "./carts";

export async function handler(request) {
  const lines = linesOf(request.pathParameters?.user);
  return json(200, { lines, total: format(total(lines)) });
}
