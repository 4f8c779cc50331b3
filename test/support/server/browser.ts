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

  /** One request; redirects are not followed. */
  async get(url: string): Promise<Page> {
    const { host } = new URL(url);
    const cookie = this.header(host);
    const answer = await request(url, { headers: cookie === '' ? {} : { cookie } });
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
