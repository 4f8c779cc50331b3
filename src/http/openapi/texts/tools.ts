/** Describes the operations on MCP, prompts and deployments for the OpenAPI document. */
import type { OperationTexts } from './operation-texts.ts';

export const toolTexts: OperationTexts = {
  'POST /mcp-integrations':
    'Stores the address of an MCP server with its login and headers. Values of headers are encrypted and never returned. The server is not contacted.',
  'GET /mcp-integrations': 'Returns MCP integrations, newest first.',
  'GET /mcp-integrations/{mcpIntegrationId}':
    'Returns one MCP integration; values of headers are masked and may be sent back unchanged.',
  'PUT /mcp-integrations/{mcpIntegrationId}':
    'Changes the sent fields. A `url` with another scheme, host or port requires the secret headers again.',
  'DELETE /mcp-integrations/{mcpIntegrationId}':
    'Deletes an MCP integration with its capabilities and workspace entries. One that MCP servers use cannot be deleted.',
  'GET /mcp-integrations/{mcpIntegrationId}/definitions':
    'Returns each definition with its state (`trusted`, `drifted`, `new`, `gone`), both digests, the differences field by field, and what is suspicious about it.',
  'POST /mcp-integrations/{mcpIntegrationId}/definitions/approve':
    'Takes the `seen_digest` of each definition from the list; 409 when the server has shown another one since.',
  'GET /mcp-integrations/{mcpIntegrationId}/capabilities':
    'Returns the tools, prompts and resources that are known of the server, and whether they are enabled.',
  'PUT /mcp-integrations/{mcpIntegrationId}/capabilities':
    'Enables or disables capabilities by type and name, and adds those that are unknown. Others stay.',
  'GET /mcp-integrations/{mcpIntegrationId}/workspaces':
    'Returns which workspaces may use an MCP integration of the organisation.',
  'PUT /mcp-integrations/{mcpIntegrationId}/workspaces':
    'Grants or denies workspaces the use of an MCP integration. MCP servers that exist stay.',
  'GET /mcp-integrations/{mcpIntegrationId}/metadata':
    'Returns name, version and protocol of the server, as of the last refresh.',
  'POST /mcp-integrations/{mcpIntegrationId}/test':
    'Asks the server for its identity, and returns the status, the duration or the reason of a failure. Nothing is stored.',
  'POST /mcp-integrations/{mcpIntegrationId}/sync':
    'Asks the server for identity, tools, prompts and resources, and stores them. New capabilities are enabled; known ones keep their state.',
  'POST /mcp-servers':
    'Lets a workspace use an MCP integration, under a slug of its own and with its own capabilities and users.',
  'GET /mcp-servers': 'Returns MCP servers, newest first.',
  'GET /mcp-servers/{mcpServerId}':
    'Returns one MCP server with its integration; values of headers are masked.',
  'PUT /mcp-servers/{mcpServerId}':
    'Changes the sent fields. Workspace, integration and slug are fixed.',
  'DELETE /mcp-servers/{mcpServerId}':
    'Deletes an MCP server with the tokens of its users and its guardrail mappings.',
  'GET /mcp-servers/{mcpServerId}/capabilities':
    'Returns the capabilities of the integration, and whether they may be used at this server.',
  'PUT /mcp-servers/{mcpServerId}/capabilities':
    'Enables or disables capabilities at this server. What the integration disables stays disabled.',
  'GET /mcp-servers/{mcpServerId}/metadata':
    'Returns name, version and protocol of the server, as of the last refresh.',
  'POST /mcp-servers/{mcpServerId}/test':
    'Asks the server for its identity with the tokens of the caller. Nothing is stored.',
  'POST /mcp-servers/{mcpServerId}/capabilities/sync':
    'Asks the server for its capabilities with the tokens of the caller, and stores them for the integration.',
  'POST /mcp-servers/{mcpServerId}/metadata/sync':
    'Asks the server for identity and capabilities with the tokens of the caller, or takes the identity from the body.',
  'GET /mcp-servers/{mcpServerId}/user-access':
    'Returns the members of the workspace, and everybody with an entry, with whether they may use the server.',
  'PUT /mcp-servers/{mcpServerId}/user-access':
    'Allows or denies people the use of the server. People without an entry follow `default_user_access`.',
  'GET /mcp-servers/{mcpServerId}/user-access/check':
    'Tells whether the person of `user_id`, or the caller, may use the server.',
  'GET /mcp-servers/{mcpServerId}/connections':
    'Returns the people who have stored OAuth tokens for the server.',
  'DELETE /mcp-servers/{mcpServerId}/connections':
    'Deletes the OAuth tokens of the person of `user_id`, or of the caller.',
  'GET /mcp-servers/{mcpServerId}/tokens':
    'Tells whether the caller has OAuth tokens for the server; their values are masked.',
  'PUT /mcp-servers/{mcpServerId}/tokens':
    'Stores the OAuth tokens with which the caller is known to the server, encrypted.',
  'DELETE /mcp-servers/{mcpServerId}/tokens': 'Deletes the OAuth tokens of the caller.',
  'GET /mcp-servers/{mcpServerId}/client-info':
    'Returns the OAuth client id of the configuration, or null, because the gateway registers none.',
  'GET /v0.1/servers':
    'Lists the MCP servers that the caller may use in the form of the MCP registry, newest first, with their addresses at the MCP gateway. Send `nextCursor` as `cursor` for the next page.',
  'POST /labels':
    'Creates a label, such as `staging`, that marks one version of a prompt at a time.',
  'GET /labels': 'Returns labels, newest first.',
  'GET /labels/{labelId}': 'Returns one label.',
  'PUT /labels/{labelId}': 'Changes the sent fields of a label.',
  'DELETE /labels/{labelId}':
    'Deletes a label. Prompts that were requested by it are no longer found under it.',
  'POST /collections': 'Creates a folder for prompts of a workspace, optionally inside another.',
  'GET /collections': 'Returns the folders of prompts with what they contain.',
  'GET /collections/{collectionId}': 'Returns one folder with the folders directly inside.',
  'PUT /collections/{collectionId}':
    'Renames a folder or moves it into another of its workspace; null moves it to the top.',
  'DELETE /collections/{collectionId}':
    'Deletes an empty folder. The default folder of a workspace cannot be deleted.',
  'POST /prompts':
    'Stores a template of a model request: text, model, provider and parameters. Its first version is published.',
  'GET /prompts': 'Returns prompts, newest first, without their templates.',
  'GET /prompts/{promptId}':
    'Returns a prompt with its published version, or with that of `version` or of an `@` in the id.',
  'PUT /prompts/{promptId}':
    'Changes the sent fields. New content becomes a new version, which is used after it has been published.',
  'DELETE /prompts/{promptId}': 'Deletes a prompt with all versions.',
  'GET /prompts/{promptId}/versions':
    'Returns the latest hundred versions, the published one, and those with a label.',
  'GET /prompts/{promptId}/versions/{versionId}':
    'Returns a prompt with one version, by number, id, label, `latest` or `default`.',
  'PUT /prompts/{promptId}/versions/{versionId}':
    'Sets the label of a version, or removes it with null. Another version that had the label loses it.',
  'PUT /prompts/{promptId}/makeDefault':
    'Publishes a version: requests without a version use it from then on.',
  'POST /prompts/{promptId}/render':
    'Fills the template with `variables` and returns the model request that results. No model is called.',
  'POST /prompts/partials':
    'Stores a part of templates, which prompts include by `{{>slug}}`. Its first version is published.',
  'GET /prompts/partials': 'Returns partials, newest first, without their templates.',
  'GET /prompts/partials/{partialId}':
    'Returns a partial with its published version, or with that of `version` or of an `@` in the id.',
  'PUT /prompts/partials/{partialId}':
    'Changes the sent fields. New content becomes a new version, which is used after it has been published.',
  'DELETE /prompts/partials/{partialId}':
    'Deletes a partial with all versions. Prompts that include it fail when they are used.',
  'GET /prompts/partials/{partialId}/versions': 'Returns the versions of a partial, newest first.',
  'PUT /prompts/partials/{partialId}/makeDefault':
    'Publishes a version: prompts that include the partial without a version use it from then on.',
  'POST /deployments':
    'Registers a gateway that the organisation runs. Its credential is in this response and is never returned again.',
  'GET /deployments': 'Returns deployments, newest first: active ones by default.',
  'GET /deployments/{deploymentId}': 'Returns one deployment; its credential is masked.',
  'PUT /deployments/{deploymentId}':
    'Changes the sent fields. `rotate_auth` replaces the credential and returns the new one.',
  'DELETE /deployments/{deploymentId}': 'Archives a deployment. An update can activate it again.',
  'GET /deployments/{deploymentId}/ping':
    'Calls the address of the deployment without a credential, and tells whether a gateway responds.',
};
