import type { APIGatewayProxyEventV2, APIGatewayProxyResultV2 } from "aws-lambda";
import { Status, type Order } from "./shared/order";
import { type Logger } from "pino";

const orders: Order[] = [{ id: "1", status: Status.Paid }];
const log: Pick<Logger, "info"> = console;

export const handler = async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyResultV2> => {
  log.info(event.rawPath);
  return { statusCode: 200, body: JSON.stringify(orders satisfies Order[]) };
};
