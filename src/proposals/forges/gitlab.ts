/** Speaks the API of GitLab: https://docs.gitlab.com/api/rest. */
import { z } from 'zod';
import type { ForgeApi, PullRequest } from './forge.ts';
import { ForgeExchange, type ForgeTerms, fromBase64, inBase64 } from './forge-exchange.ts';

const Project = z.object({ default_branch: z.string() });
const Branch = z.object({ commit: z.object({ id: z.string() }) });
const RepositoryFile = z.object({ last_commit_id: z.string(), content: z.string() });
const MergeRequest = z.object({ web_url: z.url(), iid: z.int(), state: z.string() });

export function gitlabApi(terms: ForgeTerms): ForgeApi {
  const exchange = new ForgeExchange({
    ...terms,
    product: 'GitLab',
    headers: { 'private-token': terms.token.reveal() },
  });
  const read = <T>(schema: z.ZodType<T>, body: unknown, purpose: string): T => {
    const result = schema.safeParse(body);
    if (!result.success) throw exchange.unreadable(purpose);
    return result.data;
  };
  return {
    name: exchange.name,
    defaultBranch: async () => {
      const purpose = 'read the project';
      const { body } = await exchange.send({ method: 'GET', path: '', purpose });
      return read(Project, body, purpose).default_branch;
    },
    headOf: async (branch) => {
      const purpose = `read the branch ${branch}`;
      const path = `/repository/branches/${encodeURIComponent(branch)}`;
      const { status, body } = await exchange.send({
        method: 'GET',
        path,
        purpose,
        accepts: [404],
      });
      return status === 404 ? null : read(Branch, body, purpose).commit.id;
    },
    readFile: async (path, ref) => {
      const purpose = `read the file ${path}`;
      const { status, body } = await exchange.send({
        method: 'GET',
        path: `/repository/files/${encodeURIComponent(path)}?ref=${encodeURIComponent(ref)}`,
        purpose,
        accepts: [404],
      });
      if (status === 404) return null;
      const { last_commit_id: id, content } = read(RepositoryFile, body, purpose);
      return { text: fromBase64(content), id };
    },
    createBranch: async (branch, commit) => {
      // 400: the branch exists.
      await exchange.send({
        method: 'POST',
        path: '/repository/branches',
        body: { branch, ref: commit },
        purpose: 'create a branch',
        accepts: [400],
      });
    },
    updateFile: async ({ branch, path, text, message, id }) => {
      const change = { action: 'update', file_path: path, content: inBase64(text) };
      await exchange.send({
        method: 'POST',
        path: '/repository/commits',
        body: {
          branch,
          commit_message: message,
          actions: [{ ...change, encoding: 'base64', last_commit_id: id }],
        },
        purpose: `write the file ${path}`,
      });
    },
    findPullRequest: async (branch, base) => {
      const purpose = 'look for the merge request';
      const query = new URLSearchParams({ source_branch: branch, target_branch: base });
      const path = `/merge_requests?${query}&state=all`;
      const { body } = await exchange.send({ method: 'GET', path, purpose });
      const [found] = read(z.array(MergeRequest), body, purpose);
      return found === undefined ? null : pullRequest(found);
    },
    createPullRequest: async ({ branch, base, title, body: description }) => {
      const purpose = 'open the merge request';
      const { status, body } = await exchange.send({
        method: 'POST',
        path: '/merge_requests',
        body: {
          source_branch: branch,
          target_branch: base,
          title,
          description,
          remove_source_branch: true,
        },
        purpose,
        accepts: [409],
      });
      return status === 409 ? null : pullRequest(read(MergeRequest, body, purpose));
    },
  };
}

function pullRequest({ web_url: url, iid, state }: z.infer<typeof MergeRequest>): PullRequest {
  return { url, number: iid, isOpen: state === 'opened' };
}
