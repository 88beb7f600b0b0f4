export enum Status {
  Open = "open",
  Paid = "paid",
}

export interface Order {
  id: string;
  status: Status;
}
