/** Serves a real Git repository by the REST API of GitHub, GitLab or Gitea, as far as proposals use it. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { GitRepository } from './git-server.ts';

export type ForgeForm = 'github' | 'gitlab' | 'gitea';

interface ForgeRequest {
  readonly method: string;
  /** Below the repository, decoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: ReturnType<typeof JSON.parse>;
}

interface PullRequest {
  readonly number: number;
  readonly branch: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
  state: 'open' | 'closed';
}

export interface Forge extends AsyncDisposable {
  /** Base address of the API. */
  readonly apiUrl: string;
  readonly requests: readonly ForgeRequest[];
  readonly pulls: PullRequest[];
  /** Carries out a request of this method and path, and cuts the connection in place of the response; once. */
  loseResponse: { readonly method: string; readonly path: RegExp } | null;
  /** Responds to every request with this. */
  refusal: { readonly status: number; readonly body: unknown } | null;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

type Serve = (request: ForgeRequest, repository: GitRepository, forge: Forge) => Answer;

const notFound: Answer = { status: 404, body: { message: 'Not Found' } };

/** The repository is called `acme/gateway` at every host. */
export async function startForge(
  form: ForgeForm,
  repository: GitRepository,
  token: string,
): Promise<Forge> {
  const requests: ForgeRequest[] = [];
  const { serve, prefix, holds } = products[form];
  const server = createServer(async (incoming, response) => {
    const url = new URL(incoming.url ?? '/', 'http://localhost');
    const raw = await text(incoming);
    const isOurs = url.pathname.startsWith(prefix);
    const request: ForgeRequest = {
      method: incoming.method ?? '',
      path: decodeURIComponent(url.pathname.slice(prefix.length)),
      query: url.searchParams,
      headers: incoming.headers,
      body: raw === '' ? null : JSON.parse(raw),
    };
    requests.push(request);
    if (forge.refusal !== null) return send(response, forge.refusal);
    if (!holds(incoming.headers, token)) {
      return send(response, { status: 401, body: { message: 'Bad credentials' } });
    }
    const answer = isOurs ? serve(request, repository, forge) : notFound;
    const lost = forge.loseResponse;
    if (lost !== null && lost.method === request.method && lost.path.test(request.path)) {
      forge.loseResponse = null;
      incoming.socket.destroy();
      return;
    }
    send(response, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const forge: Forge = {
    apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    pulls: [],
    loseResponse: null,
    refusal: null,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return forge;
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function headOf(repository: GitRepository, ref: string): string | null {
  try {
    return repository.git(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  } catch {
    return null;
  }
}

/** Returns false when the branch exists. */
function createBranch(repository: GitRepository, branch: string, commit: string): boolean {
  if (headOf(repository, `refs/heads/${branch}`) !== null) return false;
  repository.git(['update-ref', `refs/heads/${branch}`, commit]);
  return true;
}

function fileAt(repository: GitRepository, ref: string, path: string) {
  const content = repository.read(ref, path);
  if (content === null) return null;
  const sha = repository.git(['rev-parse', `${ref}:${path}`]);
  return { content: Buffer.from(content).toString('base64'), sha };
}

function pullFor(forge: Forge, branch: string, base: string): PullRequest | undefined {
  return forge.pulls.findLast((one) => one.branch === branch && one.base === base);
}

/** Returns null when the branch has an open one. */
function openPull(forge: Forge, made: Omit<PullRequest, 'number' | 'state'>): PullRequest | null {
  if (pullFor(forge, made.branch, made.base)?.state === 'open') return null;
  const pull: PullRequest = { ...made, number: forge.pulls.length + 1, state: 'open' };
  forge.pulls.push(pull);
  return pull;
}

const github: Serve = ({ method, path, query, body }, repository, forge) => {
  const toRecord = (pull: PullRequest) => ({
    html_url: `https://git.example.com/acme/gateway/pull/${pull.number}`,
    number: pull.number,
    state: pull.state,
  });
  const route = `${method} ${path}`;
  if (route === 'GET ') {
    return { status: 200, body: { default_branch: 'main', owner: { login: 'acme' } } };
  }
  if (route.startsWith('GET /git/ref/heads/')) {
    const sha = headOf(repository, `refs/heads/${path.slice('/git/ref/heads/'.length)}`);
    return sha === null ? notFound : { status: 200, body: { object: { sha } } };
  }
  if (route.startsWith('GET /contents/')) {
    const file = fileAt(repository, query.get('ref')!, path.slice('/contents/'.length));
    return file === null ? notFound : { status: 200, body: { type: 'file', ...file } };
  }
  if (route === 'POST /git/refs') {
    const made = createBranch(repository, body.ref.replace('refs/heads/', ''), body.sha);
    return made
      ? { status: 201, body: {} }
      : { status: 422, body: { message: 'Reference already exists' } };
  }
  if (route.startsWith('PUT /contents/')) return replaceFile(path, body, repository);
  if (route === 'GET /pulls') {
    const branch = query.get('head')!.replace('acme:', '');
    const found = pullFor(forge, branch, query.get('base')!);
    return { status: 200, body: found === undefined ? [] : [toRecord(found)] };
  }
  if (route === 'POST /pulls') {
    const { head: branch, base, title, body: words } = body;
    const pull = openPull(forge, { branch, base, title, body: words });
    return pull === null
      ? { status: 422, body: { message: 'A pull request already exists' } }
      : { status: 201, body: toRecord(pull) };
  }
  return notFound;
};

function replaceFile(path: string, body: ForgeRequest['body'], repository: GitRepository): Answer {
  const name = path.slice('/contents/'.length);
  const now = fileAt(repository, `refs/heads/${body.branch}`, name);
  if (now === null) return notFound;
  if (now.sha !== body.sha) return { status: 409, body: { message: 'does not match' } };
  repository.change(body.branch, name, Buffer.from(body.content, 'base64').toString());
  return { status: 200, body: {} };
}

const gitlab: Serve = ({ method, path, query, body }, repository, forge) => {
  const toRecord = (pull: PullRequest) => ({
    web_url: `https://git.example.com/acme/gateway/-/merge_requests/${pull.number}`,
    iid: pull.number,
    state: pull.state === 'open' ? 'opened' : 'closed',
  });
  const route = `${method} ${path}`;
  if (route === 'GET ') return { status: 200, body: { default_branch: 'main' } };
  if (route.startsWith('GET /repository/branches/')) {
    const id = headOf(repository, `refs/heads/${path.slice('/repository/branches/'.length)}`);
    return id === null ? notFound : { status: 200, body: { commit: { id } } };
  }
  if (route.startsWith('GET /repository/files/')) {
    const ref = query.get('ref')!;
    const file = fileAt(repository, ref, path.slice('/repository/files/'.length));
    const last_commit_id = headOf(repository, ref);
    return file === null
      ? notFound
      : { status: 200, body: { content: file.content, last_commit_id } };
  }
  if (route === 'POST /repository/branches') {
    return createBranch(repository, body.branch, body.ref)
      ? { status: 201, body: {} }
      : { status: 400, body: { message: 'Branch already exists' } };
  }
  if (route === 'POST /repository/commits') {
    const [action] = body.actions;
    const head = headOf(repository, `refs/heads/${body.branch}`);
    if (head !== action.last_commit_id) return { status: 400, body: { message: 'changed' } };
    const content = Buffer.from(action.content, action.encoding).toString();
    repository.change(body.branch, action.file_path, content);
    return { status: 201, body: {} };
  }
  if (route === 'GET /merge_requests') {
    const found = pullFor(forge, query.get('source_branch')!, query.get('target_branch')!);
    return { status: 200, body: found === undefined ? [] : [toRecord(found)] };
  }
  if (route === 'POST /merge_requests') {
    const { source_branch: branch, target_branch: base, title, description } = body;
    const pull = openPull(forge, { branch, base, title, body: description });
    return pull === null
      ? { status: 409, body: { message: ['Another open merge request already exists'] } }
      : { status: 201, body: toRecord(pull) };
  }
  return notFound;
};

const gitea: Serve = ({ method, path, query, body }, repository, forge) => {
  const toRecord = (pull: PullRequest) => ({
    html_url: `https://git.example.com/acme/gateway/pulls/${pull.number}`,
    number: pull.number,
    state: pull.state,
    head: { ref: pull.branch },
    base: { ref: pull.base },
  });
  const route = `${method} ${path}`;
  if (route === 'GET ') return { status: 200, body: { default_branch: 'main' } };
  if (route.startsWith('GET /branches/')) {
    const id = headOf(repository, `refs/heads/${path.slice('/branches/'.length)}`);
    return id === null ? notFound : { status: 200, body: { commit: { id } } };
  }
  if (route.startsWith('GET /contents/')) {
    const file = fileAt(repository, query.get('ref')!, path.slice('/contents/'.length));
    return file === null ? notFound : { status: 200, body: { type: 'file', ...file } };
  }
  if (route === 'POST /branches') {
    return createBranch(repository, body.new_branch_name, body.old_ref_name)
      ? { status: 201, body: {} }
      : { status: 409, body: { message: 'The branch already exists.' } };
  }
  if (route.startsWith('PUT /contents/')) return replaceFile(path, body, repository);
  if (route === 'GET /pulls') return { status: 200, body: forge.pulls.toReversed().map(toRecord) };
  if (route === 'POST /pulls') {
    const { head: branch, base, title, body: words } = body;
    const pull = openPull(forge, { branch, base, title, body: words });
    return pull === null
      ? { status: 409, body: { message: 'pull request already exists' } }
      : { status: 201, body: toRecord(pull) };
  }
  return notFound;
};

const products = {
  github: {
    serve: github,
    prefix: '/repos/acme/gateway',
    holds: (headers, token) => headers.authorization === `Bearer ${token}`,
  },
  gitlab: {
    serve: gitlab,
    prefix: '/projects/acme%2Fgateway',
    holds: (headers, token) => headers['private-token'] === token,
  },
  gitea: {
    serve: gitea,
    prefix: '/repos/acme/gateway',
    holds: (headers, token) => headers.authorization === `token ${token}`,
  },
} satisfies Record<
  ForgeForm,
  {
    readonly serve: Serve;
    readonly prefix: string;
    readonly holds: (headers: IncomingHttpHeaders, token: string) => boolean;
  }
>;
