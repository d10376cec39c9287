"""The service over HTTP: the application and the listening process.

What is asked for is elsewhere: callers, limits and bodies in `access`, what the API answers in
`endpoints`, and pages for people in `miner_service.http.pages`.
"""
