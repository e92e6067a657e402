//# allFunctionsCalledOnLoad
import{ut as e}from"./inertValue-BvU3U_-p.js";function t(t){return e(t,`base-ui`)}export{t};