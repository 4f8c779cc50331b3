/** Simulates the browser of a person who signs in: cookies, and one redirect after the other. */
import { request } from 'undici';

export interface Page {
  readonly status: number;
  readonly location: string | null;
  readonly text: string;
}

export class Browser {
  /** By host and name. */
  readonly cookies = new Map<string, string>();

  /** Origins in place of others: names that no resolver knows. */
  readonly origins = new Map<string, string>();

  /** One request; redirects are not followed. */
  get(url: string): Promise<Page> {
    return this.#send(url, 'GET', {}, null);
  }

  /** Sends a form of the page at `url`. */
  post(url: string, fields: Record<string, string>, from = new URL(url).origin): Promise<Page> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: from };
    return this.#send(url, 'POST', headers, new URLSearchParams(fields).toString());
  }

  async #send(
    url: string,
    method: 'GET' | 'POST',
    headers: Record<string, string>,
    body: string | null,
  ): Promise<Page> {
    const { host, origin, pathname, search } = new URL(url);
    const cookie = this.header(host);
    const address = (this.origins.get(origin) ?? origin) + pathname + search;
    const sent = { ...headers, ...(cookie !== '' && { cookie }) };
    const answer = await request(address, { method, headers: sent, body });
    const lines = [answer.headers['set-cookie'] ?? []].flat();
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(`${host} ${name}`);
      else this.cookies.set(`${host} ${name}`, value);
    }
    const location = answer.headers.location === undefined ? null : String(answer.headers.location);
    return { status: answer.statusCode, location, text: await answer.body.text() };
  }

  /** The cookie header for a host. */
  header(host: string): string {
    return [...this.cookies]
      .filter(([place]) => place.startsWith(`${host} `))
      .map(([place, value]) => `${place.split(' ')[1]}=${value}`)
      .join('; ');
  }
}
