-- 1 lets unknown accounts of the identity provider become users when they sign in, 0 refuses them. Null follows the
-- settings of the deployment.
ALTER TABLE organisations ADD COLUMN provisions_users TINYINT NULL;
