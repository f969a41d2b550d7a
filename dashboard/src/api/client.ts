/** Asks the API. The token, if there is one, lives in this module's memory and nowhere else. */

import { store } from "../store";
import { BASE } from "../place";
import type { Error as ApiError, ErrorBody } from "./types";

const PREFIX = `${BASE}api/v1alpha1/`;

export const token = store<string>("");

/** What the API said, or that nobody answered (status 0). */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly body: ErrorBody,
  ) {
    super(body.message);
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>;

export function address(path: readonly string[], query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== "") parameters.set(key, String(value));
  const text = parameters.toString();
  return PREFIX + path.map(encodeURIComponent).join("/") + (text ? `?${text}` : "");
}

export async function request(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const bearer = token.get();
  if (bearer) headers.set("Authorization", `Bearer ${bearer}`);
  let response: Response;
  try {
    response = await fetch(url, { ...init, headers, cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, { code: "Unreachable", message: "" });
  }
  if (!response.ok) throw new Refused(response.status, await bodyOf(response));
  return response;
}

export async function get<T>(path: readonly string[], query?: Query, signal?: AbortSignal): Promise<T> {
  const response = await request(address(path, query), signal ? { signal } : {});
  return (await response.json()) as T;
}

export async function post<T>(path: readonly string[], body: object): Promise<T> {
  const response = await request(address(path), {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Rescheduler-Request": "1" },
    body: JSON.stringify(body),
  });
  return (await response.json()) as T;
}

async function bodyOf(response: Response): Promise<ErrorBody> {
  try {
    const { error } = (await response.json()) as Partial<ApiError>;
    if (error && typeof error.message === "string") return error;
  } catch {
    // A proxy in between answers what it likes.
  }
  return { code: String(response.status), message: response.statusText };
}
