-- The role and the database of the token server, made once, as a superuser. psql reads the password from a file: in the
-- arguments of a program everybody on the machine could read it.
\set password `cat /run/secrets/token_server`
CREATE ROLE token_server LOGIN PASSWORD :'password' CONNECTION LIMIT 90;
CREATE DATABASE token_server OWNER token_server ENCODING UTF8 TEMPLATE template0;
REVOKE ALL ON DATABASE token_server FROM PUBLIC;
