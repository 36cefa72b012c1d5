@rem What `exec` is to other shells, for the scripts of package.json.
@%*
