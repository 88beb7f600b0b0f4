export class BadInput extends Error {
  readonly status = 400;
  override name = 'BadInput';
}
