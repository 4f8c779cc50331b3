/**
 * Lists the fields that documents written for gateways with the same format contain, but that have no
 * effect here. They are accepted with a warning (docs/reference/resources.md, Fields without effect).
 */

/** Account fields by the service that they belong to. */
export const foreignAccountFields: Readonly<Record<string, readonly string[]>> = {
  'azure-openai': ['azure_endpoint_name', 'azure_model_name'],
  'azure-ai': ['azure_endpoint_name'],
  bedrock: [
    'aws_bedrock_model',
    'aws_s3_bucket',
    'aws_s3_object_key',
    'aws_server_side_encryption',
    'aws_server_side_encryption_kms_key_id',
  ],
  sagemaker: [
    'amzn_sagemaker_custom_attributes',
    'amzn_sagemaker_enable_explanations',
    'amzn_sagemaker_inference_component',
    'amzn_sagemaker_inference_id',
    'amzn_sagemaker_model_name',
    'amzn_sagemaker_session_id',
    'amzn_sagemaker_target_container_hostname',
    'amzn_sagemaker_target_model',
    'amzn_sagemaker_target_variant',
    'aws_access_key_id',
    'aws_auth_type',
    'aws_external_id',
    'aws_region',
    'aws_role_arn',
    'aws_secret_access_key',
    'aws_session_token',
  ],
  'vertex-ai': ['vertex_model_name', 'vertex_storage_bucket_name'],
  'fireworks-ai': ['fireworks_account_id'],
  huggingface: ['huggingface_base_url'],
  'mistral-ai': ['mistral_fim_completion'],
  openai: ['openai_beta'],
  oracle: [
    'oracle_api_version',
    'oracle_compartment_id',
    'oracle_fingerprint',
    'oracle_key_passphrase',
    'oracle_private_key',
    'oracle_region',
    'oracle_serving_mode',
    'oracle_tenancy',
    'oracle_user',
  ],
  'stability-ai': ['stability_client_id', 'stability_client_user_id', 'stability_client_version'],
};

/** Fields of one level of a routing document, besides account fields. */
export const foreignLevelFields: readonly string[] = [
  'cache_force_refresh',
  'default_input_guardrails',
  'default_output_guardrails',
  'deployments',
  'description',
  'fetch_integrated_models',
  'id',
  'input_mutators',
  'metadata',
  'output_mutators',
  'prompt_id',
  'trace_id',
];

/** Fields of the actions of a guardrail. */
export const foreignActionFields: readonly string[] = [
  'message',
  'onFail',
  'onSuccess',
  'on_fail_action',
];

/** Fields of `on_success` and `on_fail`, which some clients send in place of `feedback`. */
export const foreignConsequenceFields: readonly string[] = ['metadata', 'value', 'weight'];

/** Parameters of guardrail checks, of any check. */
export const foreignCheckParameters: readonly string[] = ['credentials', 'timeout'];

/** Fields of a model's price. */
export const foreignPriceFields: readonly string[] = ['calculate', 'currency', 'finetune_config'];

/** Prices of units that this gateway does not count apart. */
export const foreignPricedUnits: readonly string[] = [
  'batch_config',
  'cache_read_text_input_token',
  'cache_write_image_input_token',
  'cache_write_text_input_token',
  'prediction_accepted_token',
  'prediction_rejected_token',
  'request_text_token',
];

/** Fields of the identity provider of an MCP integration; clients read them from the metadata of its issuer. */
export const foreignExternalAuthFields: readonly string[] = [
  'authorization_endpoint',
  'client_id',
  'jwks_uri',
  'registration_endpoint',
  'token_endpoint',
];

/** Fields of metadata of an authorization server that the gateway does not evaluate. */
export const foreignOAuthMetadataFields: readonly string[] = [
  'client_name',
  'client_uri',
  'grant_types',
  'grant_types_supported',
  'issuer',
  'jwks_uri',
  'logo_uri',
  'redirect_uris',
  'response_types',
  'response_types_supported',
  'scope',
  'token_endpoint_auth_method',
];
