import { type Answer, bodyOf, json, type Request } from "../../../libs/shared/http";
import { total } from "../../../libs/shared/money";

interface Order {
  user: string;
  lines: { product: string; price: number; quantity: number }[];
}

export async function handler(request: Request): Promise<Answer> {
  const order = bodyOf<Order>(request);
  if (!order?.lines?.length) {
    return json(400, { error: "an order needs a line" });
  }
  const upstreams = [process.env.CART_URL, process.env.PRICING_URL, process.env.INVENTORY_URL];
  return json(202, { user: order.user, amount: total(order.lines), upstreams });
}
