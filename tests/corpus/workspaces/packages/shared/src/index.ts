export { Order, type OrderData } from './order.js';
export const VERSION = '1.2.0';
