/** The shape in which a model server says that something went wrong. */

/** An error as llama-server writes it, in a body or in an event of a stream. */
export interface ErrorBody {
  readonly error: { readonly code: number; readonly message: string; readonly type: string } & Readonly<Record<string, unknown>>;
}

/** Makes an error; `more` holds the keys that only some errors have. */
export function errorBody(code: number, message: string, type: string, more: Readonly<Record<string, unknown>> = {}): ErrorBody {
  return { error: { code, message, type, ...more } };
}

/** What every route answers while the model is loading. */
export const LOADING: ErrorBody = errorBody(503, "Loading model", "unavailable_error");
