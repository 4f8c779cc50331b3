/** Speaks the API of GitLab: https://docs.gitlab.com/api/rest. */
import { z } from 'zod';
import type { ForgeApi, PullRequest } from './forge.ts';
import { ForgeExchange, type ForgeTerms, fromBase64, inBase64 } from './forge-exchange.ts';

const Project = z.object({ default_branch: z.string() });
const Branch = z.object({ commit: z.object({ id: z.string() }) });
const RepositoryFile = z.object({ last_commit_id: z.string(), content: z.string() });
const MergeRequest = z.object({ web_url: z.url(), iid: z.int(), state: z.string() });

export function gitlabApi(terms: ForgeTerms): ForgeApi {
  const headers = { 'private-token': terms.token.reveal() };
  const exchange = new ForgeExchange({ ...terms, product: 'GitLab', headers });
  return {
    name: exchange.name,
    defaultBranch: async () => {
      const purpose = 'read the project';
      return (await exchange.ask(Project, { method: 'GET', path: '', purpose }))!.default_branch;
    },
    headOf: async (branch) => {
      const purpose = `read the branch ${branch}`;
      const path = `/repository/branches/${encodeURIComponent(branch)}`;
      const found = await exchange.ask(Branch, { method: 'GET', path, purpose, accepts: 404 });
      return found?.commit.id ?? null;
    },
    readFile: async (file, ref) => {
      const purpose = `read the file ${file}`;
      const path = `/repository/files/${encodeURIComponent(file)}?ref=${encodeURIComponent(ref)}`;
      const request = { method: 'GET', path, purpose, accepts: 404 } as const;
      const found = await exchange.ask(RepositoryFile, request);
      return found && { text: fromBase64(found.content), id: found.last_commit_id };
    },
    createBranch: async (branch, ref) => {
      const purpose = 'create a branch';
      const path = '/repository/branches';
      // 400: the branch exists.
      await exchange.send({ method: 'POST', path, body: { branch, ref }, purpose, accepts: 400 });
    },
    updateFile: async ({ branch, path: file, text, message, id }) => {
      const purpose = `write the file ${file}`;
      const change = { action: 'update', file_path: file, content: inBase64(text) };
      const actions = [{ ...change, encoding: 'base64', last_commit_id: id }];
      const body = { branch, commit_message: message, actions };
      await exchange.send({ method: 'POST', path: '/repository/commits', body, purpose });
    },
    findPullRequest: async (branch, base) => {
      const purpose = 'look for the merge request';
      const query = new URLSearchParams({ source_branch: branch, target_branch: base });
      const request = {
        method: 'GET',
        path: `/merge_requests?${query}&state=all`,
        purpose,
      } as const;
      const [found] = (await exchange.ask(z.array(MergeRequest), request))!;
      return found === undefined ? null : pullRequest(found);
    },
    createPullRequest: async ({ branch, base, title, body: description }) => {
      const purpose = 'open the merge request';
      const between = { source_branch: branch, target_branch: base };
      const body = { ...between, title, description, remove_source_branch: true };
      const path = '/merge_requests';
      const request = { method: 'POST', path, body, purpose, accepts: 409 } as const;
      const made = await exchange.ask(MergeRequest, request);
      return made && pullRequest(made);
    },
  };
}

function pullRequest({ web_url: url, iid, state }: z.infer<typeof MergeRequest>): PullRequest {
  return { url, number: iid, isOpen: state === 'opened' };
}
